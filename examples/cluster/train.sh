#!/bin/sh
# Starts a training run, or resumes it where its folder has a checkpoint: the same line starts it again after any end.
#
#   LAUNCH="srun --mpi=pmix" train.sh FOLDER TEXT ... [OPTIONS]
#
# LAUNCH starts the ranks; without it, this process becomes the run and gets the signals of its container.
folder=$1
shift
for checkpoint in "$folder"/checkpoint.safetensors*; do
  [ -e "$checkpoint" ] && resume=--resume
done
exec $LAUNCH heed train "$@" -o "$folder" $resume
