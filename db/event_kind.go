package db

// EventKinds are the kinds of events that this release writes. docs/reference/events.md says when.
var EventKinds = []string{
	"instance.registered", "instance.ready", "instance.drained", "instance.undrained", "instance.ended",
	"session.opened",
	"match.committed",
	"session.closed",
	"agent.joined", "agent.left", "agent.stale", "agent.recovered", "agent.drained", "agent.undrained",
	"room.created", "room.destroyed",
	"command.timed_out", "command.done_late",
	"drain.kept", "drain.ended",
	"agent_key.created", "agent_key.revoked",
	"project.created", "project.renamed",
	"lobby.player_kicked", "lobby.player_banned", "lobby.player_muted", "lobby.player_pardoned",
	"lobby.changed", "lobby.closed", "lobby.messaged", "lobby.player_messaged",
	"project_key.created", "project_key.revoked", "project_key.rotated",
	"key.made", "key.advanced", "key.tainted",
	"profile.applied", "profile.rolled_back", "profile.shadowed", "profile.shadow_ended", "profile.paused",
	"profile.resumed", "profile.retired",
	"players.stored", "players.forgotten",
	"app_version.applied", "app_version.deleted",
	"pool.applied", "pool.scaled", "pool.paused", "pool.resumed",
	"pools.limited",
	"pool.rolled", "pool.deleted",
	"deployment.wanted", "deployment.failed", "deployment.stopped", "deployment.fell_back", "deployment.refused",
	"deployment.ended",
	"deployment.orphan_stopped",
}
