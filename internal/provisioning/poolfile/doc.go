// Package poolfile reads the documents in which operators declare app versions, pools and projects: YAML, or JSON,
// which is YAML as well. Reading is strict, and each problem has the line and the column of its value. What the values
// may be is decided by provision.CheckPools and db.NewProject.Check, and what fits the database by Store.Declare:
// File.Locate adds their lines.
package poolfile
