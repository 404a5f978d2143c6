"""Single shuffle on any spectrum: its generating functions, where they may be used, and the losses from them."""
