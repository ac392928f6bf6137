// Package agones takes game servers from fleets of Agones, which keeps ready ones.
//
// # Two APIs
//
// Agones' allocator hands out a ready server of a fleet, over HTTPS with client certificates. It has no other call, and
// a request whose answer is lost leaves a server allocated. So the allocation writes the director's owner and tag into
// the server's labels, and the Kubernetes API finds, lists and deletes servers by them. Without access to Kubernetes,
// [Capabilities] say that Find, List and Stop do not work: a server is then taken for ready as long as it sends
// heartbeats, and ends because the director refuses them. A deployment whose answer is lost gets its server only if
// that registers with its ref, which Get confirms by the tag in it.
//
// # What a server gets
//
// An allocated server runs already, so it has no environment of the director's. The variables are a JSON object in the
// annotation [AnnotationEnvironment], which the game reads with Agones' SDK when it is allocated. Whoever may read game
// servers in the namespace can read them. Ports, resources and grace are those of the fleet's template.
//
// # Names
//
// A ref is NAME/TAG. A server that returns itself to its fleet keeps its name and may be allocated for somebody else:
// it is gone for the deployment that had it, and Stop does not delete it.
package agones
