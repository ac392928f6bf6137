// Package batch is group commit: calls that wait at the same time share one transaction.
//
// A [Group] has a queue for each key (a region, for example) and runs one batch of a key at a time. A batch is what was
// queued while the previous batch ran. So a single caller waits for no timer, and under load batches become larger
// instead of more frequent.
//
// The package knows neither the calls nor the database. The owner of a group passes in the function that decides a
// batch and, as [Errors], what the errors of that function mean.
package batch
