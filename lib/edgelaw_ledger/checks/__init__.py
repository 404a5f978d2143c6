"""The checks of the ledger, one module per group of claims."""
