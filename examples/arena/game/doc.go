// Package game holds the rules of the arena and the messages it is played with: players steer over a square field and
// pick up coins. It knows neither connections nor the director; those are in ../server and ../bots.
package game
