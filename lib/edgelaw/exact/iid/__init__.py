"""IID sampling on any spectrum, with batches and targets: a recursion of mean squares along eigenvectors."""
