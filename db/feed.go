package db

// advance makes a page of the rows that two statements returned: late are of transactions that were in progress at since, newer
// are of later transactions, and are taken only when all late rows are in the page. size is how many rows a statement returns, not
// counting further rows of its last transaction, and tx returns the transaction of a row. The results are the rows of the page,
// the point after them, and whether another page has rows from before the beginning of this reading.
func advance[R any](since SettledPoint, now CurrentSnapshotRow, late, newer []R, size int, tx func(R) uint64) (rows []R, next SettledPoint, more bool) {
	target := since.target
	if target == "" {
		target = now.Snapshot
	}
	rows, more = late, len(late) >= size
	if !more {
		rows = append(rows, newer...)
		// Transactions after the target belong to the next reading: otherwise a reading would never end under load.
		more = len(newer) >= size && tx(newer[len(newer)-1]) < snapshotEnd(target)
	}
	if more {
		return rows, SettledPoint{server: now.Server, read: since.read, target: target, after: tx(rows[len(rows)-1])}, true
	}
	return rows, SettledPoint{server: now.Server, read: target}, false
}
