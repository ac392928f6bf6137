// Package provider says what runs game servers for the director, and what it promises. It imports nothing of ours. Each
// implementation is a package below it; providertest holds the suite that all of them pass.
//
// A deployment is one game server that a provider runs. Its phases, as [Observation] reports them:
//
//	Deploy → pending → starting → ready → stopping → gone
//	            │          │        │         ↑
//	            │          │        └── the server ended by itself → gone
//	            └──────────┴── failed ─── Stop ┘
//
// A provider may skip phases, and may report one late. Only ready, failed and gone are decisions; an unknown phase
// means that the provider has not decided yet, and absent that it does not know the deployment: not yet, or not any
// more. A failed deployment may still cost money: it ends only by Stop.
//
// # A crash between the provider's answer and our commit
//
// Deploy is not idempotent at every provider, and its answer may be lost. So the caller chooses a random tag (see
// [NewTag]) and commits it in a row before it calls Deploy. When it cannot know whether Deploy has run (its process
// died, or the error's kind is [Ambiguous]), it calls Find with the tag, and adopts what exists. Find may see a
// deployment late: a caller that deploys again, since nothing was found within its own grace, calls Find later and
// stops all but one.
//
// # Rules for implementations
//
//   - Every call ends when its context ends, and every answer that is read has a bound.
//   - Nothing is kept in memory that a restart must know: another process with the same settings finds everything by
//     tag.
//   - Errors are of type *[Error]. They never hold credentials or values of the environment.
//   - All methods are safe for concurrent use.
package provider
