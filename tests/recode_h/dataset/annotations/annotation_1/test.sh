#!/bin/bash
SCRIPT_DIR="$( cd "$( dirname "${BASH_SOURCE[0]}" )" && pwd )"
TARGET_DIR="${SCRIPT_DIR}/code_repo"

source "$(conda info --base)/etc/profile.d/conda.sh"
conda activate test_common1

mkdir -p "${SCRIPT_DIR}/pytest_report"
cp "${SCRIPT_DIR}/canonical.py" "${TARGET_DIR}/spectral/"
cp "${SCRIPT_DIR}/test.py" "${TARGET_DIR}/spectral/"

cd "${TARGET_DIR}/spectral" || exit
PYTHONPATH="${TARGET_DIR}/spectral" pytest test.py --junitxml="${SCRIPT_DIR}/pytest_report/report.xml" --timeout=60

rm "${TARGET_DIR}/spectral/canonical.py" "${TARGET_DIR}/spectral/test.py"
conda deactivate
