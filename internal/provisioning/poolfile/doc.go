// Package poolfile reads the documents in which operators declare app versions, pools and projects: YAML, or JSON,
// which is YAML as well. Reading is strict, and each problem has the line and the column of its value.
// provision.CheckPools and db.NewProject.Check decide which values are allowed, and Store.Declare what fits the
// database: File.Locate adds the lines of their errors.
package poolfile
