! The same from Fortran.
program fit
   use, intrinsic :: iso_c_binding, only: c_double, c_int, c_int64_t
   use oscillation
   implicit none

   integer, parameter :: n = 40
   real(c_double) :: t(n), seen(n), p(3), gradient(3), value
   integer(c_int) :: status
   integer :: i, iteration

   t = [(0.05d0 * i, i = 0, n - 1)]
   seen = 2 * exp(-0.3d0 * t) * cos(5 * t)
   p = [1.5d0, 0.2d0, 4.9d0]
   do iteration = 1, 4000
      status = misfit_value_and_grad(p, [3_c_int64_t], t, [int(n, c_int64_t)], seen, [int(n, c_int64_t)], value, gradient)
      if (status /= oscillation_ok) error stop "misfit"
      p = p - 0.02d0 * gradient
   end do
   print "(3(f5.3, :, 1x))", p
end program fit
