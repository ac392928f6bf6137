// Package provision is the part of the store that decides which game servers run: app versions and pools (app, pool),
// how many servers a pool needs (scale, a pure function, and scale_pool, which reads for it and inserts deployments),
// and the life of each deployment, from the claim of a worker to its end (deployment). It calls no provider; loops in
// worker/ do, and store here what happened.
//
//	a worker's turn at a deployment   deployment_claim, _decide, _context, _fact, _failure, _sweep
//	its readiness and its end         deployment_ready, deployment_refuse
//	a declaration of an operator      pool_apply, pool_check, pool_change, pool_roll, app_check
//	the limits of starts and calls    pool_limit, provider_budget
//	when a pool has more servers      schedule, pool_zone
//
// Package db joins a deployment in the transaction that registers its server (db/deployment_join.go), and records the
// requests that wait for a server (db/demand.go).
package provision
