// Package webhooks sends the events of the log to a studio's own services, after the Standard Webhooks specification.
// Workers run an [Engine].
//
// Each webhook has one worker at a time, which holds its lease, and a loop of its own: an endpoint that is slow or dead
// delays no other. A worker that dies or freezes is replaced when the lease has expired; what it writes afterwards is
// refused by the epoch of the lease. An event may be sent twice then, always with the same webhook-id.
//
//	run.go       takes webhooks, and exports how far they have come; engine.go is what all of them share
//	courier.go   the loop of one webhook
//	round.go     signs and sends letters, those of different subjects side by side
//	settle.go    what follows from the answers: pure
//	schedule.go  when a letter is tried again: pure
//	letter.go    the letter of an event: pure
//	post.go      one request
//	keys.go      the keys with which token/webhook.go signs
//
// The log is read in its order, which is that in which transactions that changed one session committed. Letters of one
// subject (a session, a ticket, a game server) are sent one after another, and one that fails holds up the later ones
// of its subject only: it is stored, and tried again for three days before it is a dead letter. While nothing at all
// can be delivered, the webhook fails: its place in the log does not move, and a few letters are tried now and then.
package webhooks
