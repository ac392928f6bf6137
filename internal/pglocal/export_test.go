package pglocal

// InstallHint is what ErrNotInstalled says on an operating system.
var InstallHint = installHint
