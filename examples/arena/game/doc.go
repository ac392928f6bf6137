// Package game holds the rules and the messages of the arena: players move over a square field and pick up coins.
// Connections and calls of the director are in ../server and ../bots.
package game
