// Package optimum computes the least cost at which tickets could have been matched in pairs by somebody who knew all
// arrivals in advance. No decision uses it: simulations and tests compare what a queue costs with it.
//
// It is a maximum-weight matching in a general graph, found by Edmonds' blossom algorithm with dual variables, in the
// form that takes time cubic in the number of tickets (Galil, "Efficient algorithms for finding maximum matching in
// graphs", 1986).
//
//	pairs.go    tickets into pairs: costs into weights
//	graph.go    the graph, its dual variables and the forest of a phase
//	matching.go one matching: phases that each add a pair, and the dual variables
//	blossom.go  odd cycles, shrunk into one node and expanded again
package optimum
