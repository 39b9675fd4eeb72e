/** Keyboard shortcuts that do not interfere with typing. */

/** True while the user types into something: shortcuts must not fire then. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

export function plainKey(event: KeyboardEvent): string | null {
  if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented || isTyping(event.target)) return null;
  return event.key;
}

export const isMac = (): boolean => /mac|iphone|ipad/i.test(navigator.userAgent);
