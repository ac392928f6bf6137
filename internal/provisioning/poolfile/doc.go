// Package poolfile reads the documents in which operators declare app versions and pools: YAML, or JSON, which is YAML
// as well. Reading is strict, and each problem has the line and the column of its value. What the values may be is
// decided by db.CheckPools, and what fits the database by Store.ApplyPools: File.Locate adds their lines.
package poolfile
