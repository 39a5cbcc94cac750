SCRIPT_DIR="$(dirname "$(realpath "$0")")"
TARGET_DIR="${SCRIPT_DIR}/halton-mc"
conda activate test_common1
cp "${SCRIPT_DIR}/canonical.py" "${TARGET_DIR}/."
cp "${SCRIPT_DIR}/test.py" "${TARGET_DIR}/."
cd "${TARGET_DIR}/." || exit
pytest test.py --junitxml="${SCRIPT_DIR}/pytest_report/report.xml"
