"""Networks whose last layers exist several times, on one trunk."""
