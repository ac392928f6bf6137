// Package peertest has the scenarios that each client of players and of game servers passes, in whatever language it is
// written, against real replicas. A peer is a program that makes the calls of one client: it runs a step for each
// request and returns the value or the error. The steps are those of sdk/ts/test/scenarios.mjs.
package peertest
