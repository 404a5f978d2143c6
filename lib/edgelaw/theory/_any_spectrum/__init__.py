"""The engines behind `curve` and `population_curve`: exact learning curves of every order on any spectrum."""
