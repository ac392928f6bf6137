// Package baseline holds what `director-bench` compares a director with: the placement that most people write first
// ([Naive]), a store that answers without the database ([ConstantStore]), and loads on Postgres alone ([Scenarios]).
//
// The hidden command `director-bench baseline` serves Naive and ConstantStore behind the product's own HTTP handlers:
// HTTP, JSON and authentication cost the same, and only the store differs. None of it is for production, so its SQL is
// here and not in queries.
package baseline
