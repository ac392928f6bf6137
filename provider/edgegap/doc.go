// Package edgegap runs game servers at Edgegap, through its HTTP API.
//
// # What the API does not promise
//
// Starting a deployment is not idempotent and takes no idempotency key, and an answer may be lost. Each deployment
// therefore has two tags, the director's own and its owner's. Find and List filter by them, and check the tags of the
// answers: if the API ignored the filter, it would return the deployments of others.
//
// A refusal for lack of room (422) names a deployment that exists and must be stopped: an error of kind Capacity with
// its Ref. An answer that is not in the API's own form is an error of kind Ambiguous after Deploy, and Transient after
// a read. It never makes a deployment gone, so that the error page of a proxy ends no match.
//
// Webhooks are unsigned, sent once and in any order. Their content is not read: one is only a reason to call Get.
//
// # Secrets
//
// The key opens the whole organisation. It is sent in one header, to one host (redirects are not followed), and is in
// no error. Messages of the API may repeat what was sent, so keys, values of the environment and webhook URLs are
// removed from them.
package edgegap
