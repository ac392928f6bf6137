// Package baseline is what `director-bench` compares a director with: the placement most people write first ([Naive]), a
// store that answers without asking the database ([Still]), and what one durable commit costs by itself ([Commits]).
//
// The faces in server are put before Naive and Still as they stand before db.Store, by the hidden command
// `director bench-baseline`: HTTP, JSON and authentication cost the same, and only what is behind them differs. None of it
// is for production, so its SQL lies here and not in queries.
package baseline
