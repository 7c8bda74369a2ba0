#!/usr/bin/env bash
# Installs ELK into .venv and plans Llama 2 13B for four chips with HBM.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/machine.sh

need_to_build
build_elk OFF
say "installing ELK and what it needs into .venv"
make_environment .venv
.venv/bin/pip uninstall --quiet --yes elk-icca
install_into .venv build/wheel/*.whl
say "planning Llama 2 13B: .venv/bin/elk compile models/llama2-13b-decode.onnx ... -o plan.elkplan"
exec .venv/bin/elk compile models/llama2-13b-decode.onnx --chip ipu-pod4-hbm \
  --bind batch=32 --bind past=2048 -o plan.elkplan
