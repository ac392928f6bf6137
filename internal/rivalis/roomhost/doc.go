// Package roomhost places matchmade sessions on the processes of Rivalis agents. An agent opts in with the label
// matchmaking=true. Its process is then registered as an instance, and each session on it is a room that the agent
// creates on command.
//
//   - the transaction that opens a session reserves its room and inserts the command: db/placement_opening.go
//   - the replica that holds the agent's connection registers the process, renews its lease as long as the agent
//     answers polls, and drains the instance when the agent drains: process.go
//   - the same replica requests missing rooms, closes sessions whose room is gone, and destroys rooms whose session has
//     ended: host.go
//
// All state is in the database. When the agent connects to another replica, that replica continues, and the process
// keeps its incarnation and its sessions.
package roomhost
