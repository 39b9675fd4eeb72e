/** What the build does so that pages are light: files beside theirs in gzip, and an end where a page's scripts grow too large. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Plugin, Rolldown } from "vite";

/** In gzip, of all scripts that the page needs before it shows anything. */
const MOST_BYTES = 200_000;
const PAGE = "src/features/incidents/IncidentPage.tsx";
const TEXT = /\.(js|css|html|svg)$/;
const LEAST_BYTES = 1000;

/** What the first words are written in: asked for with the scripts, or they would be written anew when it comes. */
const FONT = /inter-latin-wght-normal-.*\.woff2$/;

export function light(): Plugin {
  return {
    name: "light",
    enforce: "post",
    transformIndexHtml: {
      order: "post",
      handler(_, { bundle = {} }) {
        const font = Object.keys(bundle).filter((name) => FONT.test(name));
        return font.map((name) => ({ tag: "link", attrs: { rel: "preload", as: "font", type: "font/woff2", crossorigin: "", href: `/${name}` }, injectTo: "head" as const }));
      },
    },
    writeBundle({ dir = "dist" }, bundle) {
      const packed = new Map<string, number>();
      for (const [name, file] of Object.entries(bundle)) {
        const content = file.type === "chunk" ? file.code : file.source;
        if (!TEXT.test(name)) continue;
        const small = gzipSync(content, { level: 9 });
        packed.set(name, small.length);
        if (content.length >= LEAST_BYTES) writeFileSync(join(dir, `${name}.gz`), small);
      }
      const names = [...scriptsOf(bundle)];
      const bytes = names.reduce((sum, name) => sum + (packed.get(name) ?? 0), 0);
      const told = `scripts of the incident page: ${(bytes / 1000).toFixed(1)} kB in gzip, of at most ${String(MOST_BYTES / 1000)}`;
      if (bytes > MOST_BYTES) this.error(`${told}\n${names.map((name) => `${String(packed.get(name))} ${name}`).join("\n")}`);
      this.info(told);
    },
  };
}

/** The entry's and the page's chunks, with all that they import. */
function scriptsOf(bundle: Rolldown.OutputBundle): Set<string> {
  const needed = new Set<string>();
  const add = (name: string): void => {
    const file = bundle[name];
    if (file.type !== "chunk" || needed.has(name)) return;
    needed.add(name);
    file.imports.forEach(add);
  };
  const chunks = Object.values(bundle).filter((file) => file.type === "chunk");
  const pages = chunks.filter((chunk) => chunk.facadeModuleId?.endsWith(PAGE) === true);
  if (pages.length !== 1) throw new Error(`${PAGE} is in ${String(pages.length)} chunks of its own: the size of its scripts cannot be told`);
  for (const chunk of chunks) if (chunk.isEntry || pages.includes(chunk)) add(chunk.fileName);
  return needed;
}
