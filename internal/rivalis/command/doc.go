// Package command inserts commands for agents (connected Rivalis game servers) and waits for their results. A command
// is a row of the database: any replica inserts it, the replica that holds the agent's connection sends it, and the
// agent's ack settles it.
//
// [Caller] inserts commands, and answers all waiting calls of a replica from one statement. It runs the statement when
// the replica is notified, and at least each second. A lost notification therefore only delays an answer: at the
// deadline the row decides.
//
// Package db holds the rules for commands. Package server/orchestrator sends them to the agents.
package command
