"""Networks: integer and plain, quantisation, MNIST."""
