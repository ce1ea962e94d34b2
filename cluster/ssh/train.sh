#!/bin/sh
# Training on the tasks in hosts.json, started by ssh. Run this script on the chief of hosts.json.
#
# TensorFlow's servers have no authentication: anyone who can reach one can run code as your user.
# Run it only where a firewall keeps others from the ports in hosts.json.

HOSTS=$(dirname "$0")/hosts.json
COMMAND=tfw2v                         # command on the hosts; or '. venv/bin/activate && tfw2v'
THREADS=3                             # threads per worker
CORPUS=/data/wiki.txt
MODEL=/data/wiki.model
export TFW2V_LOG_DIR=/logs/wiki       # TensorBoard log folder on every host; empty: no logs

exec tfw2v cluster ssh --hosts "$HOSTS" --command "$COMMAND" -- \
    train "$CORPUS" --output "$MODEL" --checkpoint-dir "$MODEL.checkpoints" \
    --workers "$THREADS" --sg "$@"
