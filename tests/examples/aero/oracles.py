"""The graph layers once more, node by node and in double precision."""

import numpy as np


def gmm_conv(
    features,
    edges,
    pseudo,
    kernel,
    means,
    deviations,
    root_kernel,
    bias,
    mean=True,
):
    """One graph, with kernels of shape `(kernel_size, inputs, filters)`."""
    outputs = features @ root_kernel + bias
    for node in range(len(features)):
        rows = [row for row, edge in enumerate(edges) if edge[1] == node]
        total = np.zeros_like(bias)
        for row in rows:
            for size, centre in enumerate(means):
                scaled = (pseudo[row] - centre) / deviations[size]
                weight = np.exp(-0.5 * (scaled**2).sum())
                total = total + weight * (
                    features[edges[row][0]] @ kernel[size]
                )
        outputs[node] += total / max(len(rows), 1) if mean else total
    return outputs


def transformer_conv(
    features,
    edges,
    edge_features,
    query,
    key,
    value,
    edge_kernel,
    skip,
    gate,
    num_heads,
    concat=True,
):
    """One graph; projections are pairs of a kernel and a bias."""

    def heads(rows):
        shape = len(rows), num_heads, rows.shape[1] // num_heads
        return rows.reshape(shape)

    queries = heads(features @ query[0] + query[1])
    keys = heads(features @ key[0] + key[1])
    values = heads(features @ value[0] + value[1])
    on_edges = heads(edge_features @ edge_kernel)
    skips = features @ skip[0] + skip[1]
    outputs = []
    for node in range(len(features)):
        rows = [row for row, edge in enumerate(edges) if edge[1] == node]
        answer = np.zeros(values.shape[1:])
        for head in range(num_heads if rows else 0):
            sources = [edges[row][0] for row in rows]
            near_keys = keys[sources, head] + on_edges[rows, head]
            near_values = values[sources, head] + on_edges[rows, head]
            scores = near_keys @ queries[node, head]
            weights = np.exp(scores / np.sqrt(near_keys.shape[1]))
            answer[head] = weights / weights.sum() @ near_values
        answer = answer.reshape(-1) if concat else answer.mean(axis=0)
        outputs.append(gated(answer, skips[node], gate))
    return np.array(outputs)


def gated(answer, skip, gate):
    if gate is None:
        return answer + skip
    logit = np.concatenate([answer, skip, answer - skip]) @ gate[:, 0]
    share = 1 / (1 + np.exp(-logit))
    return share * skip + (1 - share) * answer


def graph_norm(features, mean_scale, scale, offset, epsilon=1e-5):
    centred = features - mean_scale * features.mean(axis=0)
    deviation = np.sqrt((centred**2).mean(axis=0) + epsilon)
    return scale * centred / deviation + offset
