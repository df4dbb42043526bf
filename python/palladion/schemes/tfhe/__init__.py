"""What `palladion.tfhe` is made of."""
