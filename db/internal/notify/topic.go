package notify

// The topics that several parts of the store send; package db says what they mean.
const (
	TopicCapacity    = "capacity"
	TopicDemand      = "demand"
	TopicDeployments = "deployments"
)
