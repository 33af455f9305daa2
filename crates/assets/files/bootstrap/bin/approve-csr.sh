#!/usr/bin/env bash
# Lets kubelets in until the cluster's own approver runs: client and serving certificates of kubelets only.
set -euo pipefail

# Not through the load balancer, which may come later than the first requests.
kubeconfig=/opt/openshift/auth/kubeconfig-loopback
until [[ -e /opt/openshift/.bootkube.done ]]; do
    requests=$(oc --kubeconfig="$kubeconfig" get --output=json certificatesigningrequests) || requests={}
    jq --raw-output '
        .items[]?
        | select(.spec.signerName == ("kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving"))
        | select((.status.conditions // []) == [])
        | .metadata.name' <<< "$requests" \
        | xargs --no-run-if-empty oc --kubeconfig="$kubeconfig" adm certificate approve || true
    sleep 20
done
