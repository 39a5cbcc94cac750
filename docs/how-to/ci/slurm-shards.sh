#!/bin/bash
# sbatch slurm-shards.sh
# Again, for the shards 3 and 7 of the run 4711: RECODE_RUN=4711 sbatch --array=3,7 slurm-shards.sh
#SBATCH --job-name=recode
#SBATCH --array=1-8
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=4
#SBATCH --mem=16G
#SBATCH --time=12:00:00
#SBATCH --signal=B:TERM@180
#SBATCH --output=recode-%A-%a.log
set -eu

shards=8 # as in --array above. SLURM_ARRAY_TASK_COUNT is less if only some shards are submitted again
run=${RECODE_RUN:-$SLURM_ARRAY_JOB_ID}
out=records/$run/shard-$SLURM_ARRAY_TASK_ID

resume=
if [ -e "$out/results.jsonl" ]; then resume=--recode-resume; fi
exec pytest tasks -n 4 --recode-shard="$SLURM_ARRAY_TASK_ID/$shards" \
  --recode-model=gpt-6-luna --recode-model=deepseek-v4-pro \
  --recode-max-cost=3 --recode-fail-under=0 --recode-sandbox=bubblewrap \
  --recode-out="$out" $resume
