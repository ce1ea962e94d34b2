#!/bin/sh
# A training on the tasks of hosts.json, started by ssh: run it on the host that is chief there.
#
# TensorFlow's servers have no authentication: anyone who can reach one can run code as your user.
# Run it only where a firewall keeps others from the ports in hosts.json.

HOSTS=$(dirname "$0")/hosts.json
COMMAND=tfw2v                         # on the hosts; or '. venv/bin/activate && tfw2v'
THREADS=3                             # of each worker
CORPUS=/data/wiki.txt
MODEL=/data/wiki.model
export TFW2V_LOG_DIR=/logs/wiki       # on every host, for TensorBoard; empty: nowhere

exec tfw2v cluster ssh --hosts "$HOSTS" --command "$COMMAND" -- \
    train "$CORPUS" --output "$MODEL" --checkpoint-dir "$MODEL.checkpoints" \
    --workers "$THREADS" --sg "$@"
