"""The parts of `palladion.tfhe`."""
