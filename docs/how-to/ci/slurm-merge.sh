#!/bin/bash
# sbatch --dependency=afterany:4711 slurm-merge.sh 4711
#SBATCH --job-name=recode-merge
#SBATCH --ntasks=1
#SBATCH --mem=4G
#SBATCH --time=00:30:00
#SBATCH --output=recode-merge-%j.log
set -eu

run=$1
pytest-recode merge "records/$run"/shard-* --out "records/$run/all"
pytest-recode report "records/$run/all"
