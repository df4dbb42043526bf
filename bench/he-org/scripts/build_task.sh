#!/bin/sh
# Called by the harness with the folder of the submission, before anything is timed.
set -eu
mkdir -p "$1/build"
cp "$1"/stages/* "$1/build/"
