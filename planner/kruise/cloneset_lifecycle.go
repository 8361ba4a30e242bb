package kruise

// cloneSetSurge is the row of maxSurge, wherever a version has it.
var cloneSetSurge = Field{Path: "maxSurge", Support: Refused, Text: "not yet; remove it, and maxUnavailable bounds the update"}

// cloneSetLifecycleFields are the rows about how pods come and go.
func cloneSetLifecycleFields() []Field {
	return []Field{
		{Path: "spec.volumeClaimTemplates", Support: Refused, Text: "not yet; use a generic ephemeral volume in spec.template"},
		{Path: "spec.lifecycle.preDelete", Support: Refused, Text: "not yet; use a preStop hook of the container"},
		{Path: "spec.lifecycle.inPlaceUpdate", Support: Refused, Text: "not yet; use a preStop hook of the container"},
		{Path: "spec.lifecycle.preNormal", Support: Refused, Text: "not yet; use a readiness gate of your own"},
		{Path: "spec.scaleStrategy.podsToDelete", Support: Refused, Text: "not yet; delete the pods yourself"},
		{Path: "spec.scaleStrategy.maxUnavailable", Support: Refused, Text: "not yet; remove it"},
		{Path: "spec.scaleStrategy.excludePreparingDelete", Support: Refused, Text: "not yet; remove it"},
		{Path: "spec.scaleStrategy.disablePVCReuse", Since: "v1alpha1", Support: Refused, Text: "not yet; remove it"},
		{Path: "spec.scaleStrategy.enablePVCReuse", Since: "v1beta1", Support: Refused, Text: "not yet; remove it"},
	}
}
