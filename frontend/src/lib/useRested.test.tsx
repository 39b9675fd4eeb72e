import { act, renderHook } from "@testing-library/react";

import { useRested } from "./useRested";

it("follows a value once it rests, without a render for each step of it", () => {
  vi.useFakeTimers();
  let renders = 0;
  const { result, rerender } = renderHook(
    ({ value }) => {
      renders += 1;
      return useRested(value, 100);
    },
    { initialProps: { value: 1 } },
  );
  for (const value of [2, 3, 4]) {
    rerender({ value });
    act(() => void vi.advanceTimersByTime(90));
  }
  expect([result.current, renders]).toEqual([1, 4]);
  act(() => void vi.advanceTimersByTime(20));
  expect([result.current, renders]).toEqual([4, 5]);
  vi.useRealTimers();
});
