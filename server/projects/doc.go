// Package projects serves the control API of the realtime lobby: projects, their keys and the tokens of their clients.
// Its routes, bodies and texts are those of Nexis' control API, so that its scripts and servers work unmodified;
// api/nexis.yaml is the contract. Whoever has an internal token may do everything. The state is in package db, tokens
// are made in package token, package lobby decides what happens in rooms, and server/realtime serves them.
package projects
