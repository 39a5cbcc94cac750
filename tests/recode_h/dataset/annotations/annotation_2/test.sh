#!/usr/bin/env bash
set -e
SCRIPT_DIR=$(cd "$(dirname "$0")" && pwd)
TARGET_DIR="${SCRIPT_DIR}/quantile-drift"
eval "$(conda shell.bash hook)"
conda activate test_151
cp "${SCRIPT_DIR}/canonical.py" "${TARGET_DIR}/driftlab/."
cp "${SCRIPT_DIR}/test.py" "${TARGET_DIR}/driftlab/."
cd "${TARGET_DIR}/." || exit
pytest driftlab/test.py --junitxml="${SCRIPT_DIR}/pytest_report/report.xml" \
    --timeout 30
rm -f "${TARGET_DIR}/driftlab/canonical.py" "${TARGET_DIR}/driftlab/test.py"
