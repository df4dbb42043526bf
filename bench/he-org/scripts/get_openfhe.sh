#!/bin/sh
# The harness calls this first. Palladion needs no OpenFHE.
