"""What every room may use: checked arguments, the paper's preprocessing, BLAS threads, files written whole."""
