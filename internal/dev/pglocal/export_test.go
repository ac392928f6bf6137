package pglocal

// InstallHint returns the text of ErrNotInstalled on an operating system.
var InstallHint = installHint
