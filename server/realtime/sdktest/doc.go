// Package sdktest runs the TypeScript SDK of Nexis, unmodified, against replicas of the realtime lobby. The SDK is not
// part of this repository: DIRECTOR_TEST_NEXIS_SDK names the directory of its source (sdks/ts of TriForMine/nexis,
// v0.1.5), which has a folder src. Without it, nothing here is tested, and the package says so.
package sdktest
