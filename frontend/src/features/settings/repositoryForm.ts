import type { NewRepository, Repository, RepositoryChange, RepositoryFile } from "@/api/pulls";

import { patternsOf } from "./channelFilter";

export interface FileForm {
  readonly key: number;
  readonly namespaces: string;
  readonly workloads: string;
  readonly path: string;
  readonly format: RepositoryFile["format"];
  readonly valuesKey: string;
}

export interface RepositoryFormState {
  readonly kind: Repository["kind"];
  readonly url: string;
  readonly repository: string;
  readonly baseBranch: string;
  readonly token: string;
  readonly files: readonly FileForm[];
}

export const FORMATS: Record<RepositoryFile["format"], string> = {
  manifest: "Kubernetes manifest",
  helm_values: "Helm values",
  kustomize_patch: "Kustomize patch",
  corefile: "Corefile",
};

export const HOSTS: Record<Repository["kind"], string> = { github: "GitHub", gitlab: "GitLab" };

let keys = 0;

export const newFile = (): FileForm => ({ key: (keys += 1), namespaces: "", workloads: "", path: "", format: "manifest", valuesKey: "" });

export const newRepository = (): RepositoryFormState => ({ kind: "github", url: "", repository: "", baseBranch: "main", token: "", files: [newFile()] });

export const formOf = ({ kind, url, repository, base_branch: baseBranch, files }: Repository): RepositoryFormState => ({
  kind,
  url,
  repository,
  baseBranch,
  token: "",
  files: files.map((one) => ({
    ...newFile(),
    namespaces: one.namespaces.join(", "),
    workloads: one.workloads.join(", "),
    path: one.path,
    format: one.format,
    valuesKey: one.values_key,
  })),
});

const filesOf = (files: readonly FileForm[]): RepositoryFile[] =>
  files.map((one) => ({
    namespaces: patternsOf(one.namespaces),
    workloads: patternsOf(one.workloads),
    path: one.path,
    format: one.format,
    values_key: one.format === "helm_values" ? one.valuesKey : "",
  }));

export const requestOf = ({ kind, url, repository, baseBranch, token, files }: RepositoryFormState): NewRepository => ({
  kind,
  url: url.trim() === "" ? null : url,
  repository,
  base_branch: baseBranch,
  token,
  files: filesOf(files),
});

/** The request of a change; without a token, the stored one is kept. */
export const changeOf = ({ url, repository, baseBranch, token, files }: RepositoryFormState): RepositoryChange => ({
  url,
  repository,
  base_branch: baseBranch,
  token: token === "" ? null : token,
  files: filesOf(files),
});
