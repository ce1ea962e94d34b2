#!/bin/bash
# @intro@
#
# TensorFlow's servers have no authentication: whoever reaches one runs code as the job's user.
# Submit it only where a firewall keeps other users and machines from the ports of the nodes.
#
#SBATCH --job-name=@name@
#SBATCH --ntasks=@tasks@
#SBATCH --cpus-per-task=@cpus@
#SBATCH --mem-per-cpu=@megabytes@M
#SBATCH --output=@name@-%j.log
#SBATCH --open-mode=append
#SBATCH --requeue

PS=@ps@
WORKERS=@workers@
FIRST_PORT=@first_port@  # empty: from the number of the job
RESTARTS=10  # how often a task, and the training, is started again
TRAINING=(@training@)
export TFW2V_LOG_DIR=@log_dir@  # where all tasks log for TensorBoard
@setup@

set -u

# Where the tasks are: a host for each ps, then for each worker, as many on a node as Slurm has
# given it (less the coordinator, which is this script's), dealt to the nodes in turn.
mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
slots=()
IFS=, read -ra groups <<<"$SLURM_TASKS_PER_NODE" # as in 3(x2),1
for group in "${groups[@]}"; do
    times=1
    [[ $group == *'(x'* ]] && times=${group#*'(x'} times=${times%')'}
    for ((i = 0; i < times; i++)); do slots+=("${group%%'('*}"); done
done
slots[0]=$((slots[0] - 1))
hosts=()
for ((round = 0; ${#hosts[@]} < PS + WORKERS; round++)); do
    if ((round > PS + WORKERS)); then
        echo "tfw2v: Slurm gave $SLURM_TASKS_PER_NODE tasks; $((PS + WORKERS + 1)) are needed" >&2
        exit 2
    fi
    for i in "${!nodes[@]}"; do
        if ((slots[i] > round && ${#hosts[@]} < PS + WORKERS)); then hosts+=("${nodes[i]}"); fi
    done
done

# Their addresses. Ports differ between jobs, and are below those that outgoing connections take.
first=${FIRST_PORT:-$((10000 + SLURM_JOB_ID * (PS + WORKERS + 1) % (22000 - PS - WORKERS)))}
addresses=()
for i in "${!hosts[@]}"; do addresses+=("\"${hosts[i]}:$((first + i))\""); done
list() { local IFS=, && echo "[$*]"; }
ps=$(list "${addresses[@]:0:PS}")
worker=$(list "${addresses[@]:PS}")
chief=$(list "\"${nodes[0]}:$((first + PS + WORKERS))\"")
export PS RESTARTS CLUSTER="{\"ps\": $ps, \"worker\": $worker, \"chief\": $chief}"

# One task of the step: a ps or a worker, started again when it ends.
# shellcheck disable=SC2329 # srun calls it
serve() {
    local role=ps index=$SLURM_PROCID start
    if ((index >= PS)); then role=worker index=$((index - PS)); fi
    export TF_CONFIG="{\"cluster\": $CLUSTER, \"task\": {\"type\": \"$role\", \"index\": $index}}"
    for ((start = 0; start <= RESTARTS; start++)); do
        tfw2v task
        echo "tfw2v: $role $index ended with status $?" >&2
        sleep 1
    done
}

tasks='' training=''
# shellcheck disable=SC2329 # the trap calls it
end() {
    # shellcheck disable=SC2086 # those that have not been started are no arguments
    kill $training $tasks 2>/dev/null
    wait
    rm -f "$hostfile"
}
hostfile=$(mktemp)
trap end EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

printf '%s\n' "${hosts[@]}" >"$hostfile"
SLURM_HOSTFILE=$hostfile srun --distribution=arbitrary --ntasks=$((PS + WORKERS)) \
    --cpus-per-task="${SLURM_CPUS_PER_TASK:-1}" --kill-on-bad-exit=0 --wait=0 --label \
    bash -c "$(declare -f serve); serve" &
tasks=$!

if [[ -n $TFW2V_LOG_DIR ]]; then
    echo "tfw2v: to look at it, on a machine that sees the folder:" \
        "tfw2v tensorboard $(printf %q "$(realpath -m -- "$TFW2V_LOG_DIR")")" >&2
fi

# The training, when all tasks answer.
export TF_CONFIG="{\"cluster\": $CLUSTER, \"task\": {\"type\": \"chief\", \"index\": 0}}"
wait_for_tasks() {
    local answers deadline=$((SECONDS + 600))
    until answers=$(tfw2v cluster status); do
        if ((SECONDS > deadline)) || ! kill -0 "$tasks" 2>/dev/null; then
            printf 'tfw2v: these tasks have not come up:\n%s\n' "$answers" >&2
            exit 1
        fi
        sleep 1
    done
}
for ((start = 0; start <= RESTARTS; start++)); do
    wait_for_tasks
    tfw2v "${TRAINING[@]}" &
    training=$!
    wait "$training"
    status=$?
    training=''
    # it is started again if it was killed, or if tasks were gone for too long; what it says
    # itself is not mended by that
    ((status > 128)) || { ((status)) && ! tfw2v cluster status; } || break
    echo "tfw2v: the training ended with status $status" >&2
done
exit "$status"
