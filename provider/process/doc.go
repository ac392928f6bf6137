// Package process runs game servers as processes of this machine: for development, demos and tests, and for a single
// host.
//
// # What survives
//
// A server survives the director that started it, unless [Config].EndWithParent is set. Everything that a later
// director needs is in a directory per deployment, named by its tag:
//
//	state.json  owner, command, ports and times; written before the start
//	lock        an exclusive flock(2) that the server inherits: a deployment is alive as long as it is held
//	pid         written by the process itself before it becomes the game, so that no crash of ours separates the
//	            two; empty until then
//	work        the server's working directory, where it is of another user; else that is the directory itself
//	stop.json   Stop was called, and when the process is killed
//	exit        how it ended, if the director that started it was still there
//	log, log.1  what the server printed, bounded by Config.MaxLogBytes
//
// A process id alone proves nothing, because the kernel reuses ids. It releases the lock with the last process of the
// deployment, and does not reuse the id of its process group before that. So a director that sees the lock held may
// signal the group. After the grace of Stop it kills whatever holds the lock (on Linux), also a child in a session of
// its own. A server of which processes survive that for 10 seconds is gone.
//
// # What a server gets
//
// A clean environment: the Spec's, and LATTICE_PORT_<NAME> for each port, which it binds and players dial. Rows of the
// database name commands of [Config].Commands and never paths or arguments, and set no variable that [Config].Variables
// does not allow, so that a row cannot run code. With [Config].User the servers are of another user, and cannot reach
// the files of the director.
//
// Several directors may share a directory. A file lock orders what they start and stop; one that is frozen while it
// holds that lock makes the others' Deploy and Stop fail with Transient, and does not block reads.
package process
